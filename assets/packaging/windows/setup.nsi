; Countersign's installer: for the person who runs it, without an administrator. internal/release gives PROGRAM (the
; program's file), NOTICES, ICON, OUT (the installer's file), VERSION, NUMBERS (four, with dots), APP_ID
; (by which Windows knows the program's windows and notifications), ACTIVATOR (the class that is told of a press on one) and, where installers are signed, SIGN (a command that signs the file named as its last argument).
;
; Silently: Countersign-setup.exe /S [/AUTOSTART] [/UPDATE] [/D=C:\folder]. A running Countersign is ended as by its menu, and
; started again afterwards. It ends with 2 when that does not end, with 3 when Countersign is installed for everybody on the
; computer already, and with 4 when a newer one is there. Installed again, it leaves alone what a person has chosen since: the start
; with Windows, the entry in Send to. In another folder than before, it moves there.
; With /UPDATE, which the program itself gives, it starts the program again however it went, with what the environment's
; COUNTERSIGN_RESTART says.
;
; uninstall.exe /S [/REMOVEDATA]: without the latter settings and list of packages stay. With /REPLACEDBY="program", which the
; Countersign for everybody on the computer gives, what the person chose leads to that.
Target amd64-unicode
!ifdef QUICK
SetCompressor zlib
!else
SetCompressor /SOLID lzma
!endif
SetDateSave off
RequestExecutionLevel user
ManifestDPIAware true
ManifestSupportedOS Win10
!include MUI2.nsh
!include FileFunc.nsh
!include WordFunc.nsh
!include LogicLib.nsh
!include WinMessages.nsh
!include Win\COM.nsh
!include Win\Propkey.nsh

Name "Countersign"
OutFile "${OUT}"
BrandingText "Countersign ${VERSION}"
InstallDir "$LOCALAPPDATA\Programs\Countersign"
InstallDirRegKey HKCU "Software\Countersign" "InstallDir"
VIProductVersion "${NUMBERS}"
VIAddVersionKey ProductName "Countersign"
VIAddVersionKey ProductVersion "${VERSION}"
VIAddVersionKey FileVersion "${VERSION}"
VIAddVersionKey FileDescription "Countersign installer"
VIAddVersionKey LegalCopyright ""
!ifdef SIGN
  !uninstfinalize '${SIGN} "%1"'
!endif

!define RUN_KEY "Software\Microsoft\Windows\CurrentVersion\Run"
!define APPROVED_KEY "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
!define OFFICE_KEY "Software\Classes\Countersign.Office"
!define OFFICE_ENDING "Software\Classes\.countersign"
!define UNINSTALL_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Countersign"

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_ABORTWARNING
!define MUI_FINISHPAGE_RUN "$INSTDIR\Countersign.exe"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${__FILEDIR__}/installer-welcome.bmp"
!define MUI_HEADERIMAGE
!define MUI_HEADERIMAGE_RIGHT
!define MUI_HEADERIMAGE_BITMAP "${__FILEDIR__}/installer-head.bmp"
!define MUI_WELCOMEPAGE_TITLE "$(welcome_title)"
!define MUI_WELCOMEPAGE_TEXT "$(welcome_text)"
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
; The first is the one for every other Windows.
!insertmacro MUI_LANGUAGE English
!insertmacro MUI_LANGUAGE French
!insertmacro MUI_LANGUAGE German
!insertmacro MUI_LANGUAGE Spanish
!include "texts.nsh"

Var updating ; 1 with /UPDATE
Var ran      ; 1 when Countersign was ended for this
Var starts   ; 1 when it starts with Windows, and nobody has switched that off
Var removing ; 1 with /REMOVEDATA
Var replaced ; the program that takes the place of this one
Var former   ; the folder of the one that is installed

; A program that runs cannot be replaced, so it is ended as by its menu: what it was doing goes on at its next start.
!macro WAIT_FOR_END un
Function ${un}WaitForEnd
  StrCpy $1 0
  again:
  IfFileExists "$INSTDIR\Countersign.exe" 0 ended
  ClearErrors
  FileOpen $0 "$INSTDIR\Countersign.exe" a
  IfErrors running
  FileClose $0
  Goto ended
  running:
  StrCmp $ran 1 waiting
  StrCpy $ran 1
  ExecWait '"$INSTDIR\Countersign.exe" quit --this-program'
  Goto again
  waiting:
  IntCmp $1 10 ask 0 ask ; its file may be looked at for a moment
  IntOp $1 $1 + 1
  Sleep 500
  Goto again
  ask:
  MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(is_running)" /SD IDCANCEL IDRETRY retry
  SetErrorLevel 2
  Quit
  retry:
  StrCpy $ran 0
  StrCpy $1 0
  Goto again
  ended:
FunctionEnd
!macroend
!insertmacro WAIT_FOR_END ""
!insertmacro WAIT_FOR_END "un."

; Windows shows a notification only of a program that it knows by an entry in the Start menu, or one in the registry, which the
; program makes itself; it groups windows with the former.
Function NameShortcut ; $0 is the shortcut
  !insertmacro ComHlpr_CreateInProcInstance ${CLSID_ShellLink} ${IID_IShellLink} r1 ""
  ${If} $1 P= 0
    Return
  ${EndIf}
  ${IUnknown::QueryInterface} $1 '("${IID_IPersistFile}",.r2)'
  ${IUnknown::QueryInterface} $1 '("${IID_IPropertyStore}",.r3)'
  ${If} $2 P<> 0
  ${AndIf} $3 P<> 0
    ${IPersistFile::Load} $2 '("$0",2)' ; STGM_READWRITE
    System::Call '*${SYSSTRUCT_PROPERTYKEY}(${PKEY_AppUserModel_ID})p.r4'
    System::Call '*(&w64 "${APP_ID}")p.r6'
    System::Call '*${SYSSTRUCT_PROPVARIANT}(${VT_LPWSTR},,p r6)p.r5'
    ${IPropertyStore::SetValue} $3 '($4,$5)'
    System::Call '*(&g16 "${ACTIVATOR}")p.r7'
    System::Call '*$4${SYSSTRUCT_PROPERTYKEY}(${PKEY_AppUserModel_ToastActivatorCLSID})'
    System::Call '*$5${SYSSTRUCT_PROPVARIANT}(${VT_CLSID},,p r7)'
    ${IPropertyStore::SetValue} $3 '($4,$5)'
    System::Free $7
    System::Free $6
    System::Free $5
    System::Free $4
    ${IPropertyStore::Commit} $3 ""
    ${IPersistFile::Save} $2 '("$0",1)'
  ${EndIf}
  ${If} $3 P<> 0
    ${IUnknown::Release} $3 ""
  ${EndIf}
  ${If} $2 P<> 0
    ${IUnknown::Release} $2 ""
  ${EndIf}
  ${IUnknown::Release} $1 ""
FunctionEnd

; One that stayed in another folder would run on beside this one. What the person chose leads here from now on.
Function LeaveFormer
  ${If} $former == ""
  ${OrIf} $former == $INSTDIR
  ${OrIfNot} ${FileExists} "$former\uninstall.exe"
    Return
  ${EndIf}
  ClearErrors
  FileOpen $0 "$former\Countersign.exe" a
  ${If} ${Errors}
    StrCpy $ran 1
  ${EndIf}
  FileClose $0
  again:
  ExecWait '"$former\uninstall.exe" /S /REPLACEDBY="$INSTDIR\Countersign.exe" _?=$former' $0
  ${If} $0 <> 0
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(is_running)" /SD IDCANCEL IDRETRY again
    SetErrorLevel 2
    Quit
  ${EndIf}
  Delete "$former\uninstall.exe"
  RMDir "$former"
FunctionEnd

; The program is nearly all there is to install, so that the bar would stand still at its beginning: it only moves meanwhile.
!define PBS_MARQUEE 8
Function ShowMarquee
  SetDetailsPrint none
  FindWindow $0 "#32770" "" $HWNDPARENT
  GetDlgItem $0 $0 1004
  System::Call 'user32::GetWindowLong(p r0, i ${GWL_STYLE}) i .r1'
  IntOp $1 $1 | ${PBS_MARQUEE}
  System::Call 'user32::SetWindowLong(p r0, i ${GWL_STYLE}, i r1)'
  SendMessage $0 ${PBM_SETMARQUEE} 1 30
FunctionEnd
Function EndMarquee
  FindWindow $0 "#32770" "" $HWNDPARENT
  GetDlgItem $0 $0 1004
  SendMessage $0 ${PBM_SETMARQUEE} 0 0
  System::Call 'user32::GetWindowLong(p r0, i ${GWL_STYLE}) i .r1'
  IntOp $1 $1 ^ ${PBS_MARQUEE}
  System::Call 'user32::SetWindowLong(p r0, i ${GWL_STYLE}, i r1)'
  SetDetailsPrint both
FunctionEnd

Section "Countersign" the_program
  SectionIn RO
  Call LeaveFormer
  Call WaitForEnd
  SetOutPath "$INSTDIR"
  Call ShowMarquee
  ; The program is the old one or the new one, whatever goes wrong: no room, no power.
  ClearErrors
  File "/oname=Countersign.new" "${PROGRAM}"
  IfErrors 0 written
  Delete "$INSTDIR\Countersign.new"
  Abort
  written:
  !define REPLACE_AND_FLUSH 9 ; MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH
  System::Call 'kernel32::MoveFileEx(t "$INSTDIR\Countersign.new", t "$INSTDIR\Countersign.exe", i ${REPLACE_AND_FLUSH}) i .r0'
  IntCmp $0 0 0 named named
  Delete "$INSTDIR\Countersign.new"
  Abort
  named:
  Call EndMarquee
  File "/oname=NOTICES.txt" "${NOTICES}"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortCut "$SMPROGRAMS\Countersign.lnk" "$INSTDIR\Countersign.exe"
  StrCpy $0 "$SMPROGRAMS\Countersign.lnk"
  Call NameShortcut
  WriteRegStr HKCU "Software\Countersign" "InstallDir" "$INSTDIR"
  ; A double click on what an administrator made opens the program.
  WriteRegStr HKCU "${OFFICE_ENDING}" "" "Countersign.Office"
  WriteRegStr HKCU "${OFFICE_KEY}" "" "Countersign"
  WriteRegStr HKCU "${OFFICE_KEY}\DefaultIcon" "" "$INSTDIR\Countersign.exe,0"
  WriteRegStr HKCU "${OFFICE_KEY}\shell\open\command" "" '"$INSTDIR\Countersign.exe" "%1"'
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayName" "Countersign"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "Publisher" "Countersign"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayIcon" "$INSTDIR\Countersign.exe"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoRepair" 1
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "EstimatedSize" $0
SectionEnd

Section "$(send_to_name)" send_to
  CreateShortCut "$SENDTO\Countersign.lnk" "$INSTDIR\Countersign.exe"
SectionEnd

Section "$(autostart_name)" start_with_windows
  WriteRegStr HKCU "${RUN_KEY}" "Countersign" '"$INSTDIR\Countersign.exe" --hidden'
  DeleteRegValue HKCU "${APPROVED_KEY}" "Countersign"
SectionEnd

; What was chosen before stays, or is taken back here; a start with Windows that the Task Manager has switched off stays so.
Section "-choices"
  ${IfNot} ${Silent}
    ${IfNot} ${SectionIsSelected} ${send_to}
      Delete "$SENDTO\Countersign.lnk"
    ${EndIf}
    ${IfNot} ${SectionIsSelected} ${start_with_windows}
    ${AndIf} $starts = 1
      DeleteRegValue HKCU "${RUN_KEY}" "Countersign"
    ${EndIf}
  ${EndIf}
  ReadRegStr $0 HKCU "${RUN_KEY}" "Countersign"
  ${If} $0 != ""
    WriteRegStr HKCU "${RUN_KEY}" "Countersign" '"$INSTDIR\Countersign.exe" --hidden'
  ${EndIf}
SectionEnd

!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${the_program} $(about_program)
  !insertmacro MUI_DESCRIPTION_TEXT ${send_to} $(about_sendto)
  !insertmacro MUI_DESCRIPTION_TEXT ${start_with_windows} $(about_autostart)
!insertmacro MUI_FUNCTION_DESCRIPTION_END

Function .onInit
  ; Two of them would start with Windows side by side, the older one over the newer one's data.
  SetRegView 64
  ReadRegStr $0 HKLM "Software\Countersign" "InstallDir"
  SetRegView lastused
  ${If} $0 != ""
  ${AndIf} ${FileExists} "$0\Countersign.exe"
    ${GetParameters} $1
    ClearErrors
    ${GetOptions} $1 "/UPDATE" $2
    ${IfNot} ${Errors} ; the program that is for everybody takes over what waits for this update
      ReadEnvStr $1 COUNTERSIGN_RESTART
      Exec '"$0\Countersign.exe" $1'
      SetErrorLevel 3
      Quit
    ${EndIf}
    MessageBox MB_OK|MB_ICONINFORMATION "$(for_everybody)" /SD IDOK
    SetErrorLevel 3
    Quit
  ${EndIf}
  ReadRegStr $0 HKCU "${RUN_KEY}" "Countersign"
  ${If} $0 != ""
    StrCpy $starts 1
    ; What the Task Manager has switched off has an odd first byte here.
    System::Alloc 64
    Pop $1
    System::Call 'advapi32::RegGetValue(p 0x80000001, t "${APPROVED_KEY}", t "Countersign", i 0xffff, p 0, p r1, *i 64) i.r2'
    ${If} $2 = 0
      System::Call '*$1(&i1 .r2)'
      IntOp $2 $2 & 1
      ${If} $2 = 1
        StrCpy $starts 0
      ${EndIf}
    ${EndIf}
    System::Free $1
  ${EndIf}
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/UPDATE" $1
  ${IfNot} ${Errors}
    StrCpy $updating 1
  ${EndIf}
  ReadRegStr $former HKCU "Software\Countersign" "InstallDir"
  ${If} ${FileExists} "$former\Countersign.exe"
    ${IfNot} ${FileExists} "$SENDTO\Countersign.lnk"
      !insertmacro UnselectSection ${send_to}
    ${EndIf}
    ; An older one does not read what a newer one has written.
    ClearErrors
    ${GetFileVersion} "$former\Countersign.exe" $1
    ${IfNot} ${Errors}
      ${VersionCompare} "$1" "${NUMBERS}" $2
      ${If} $2 = 1
        MessageBox MB_OK|MB_ICONINFORMATION "$(is_newer)" /SD IDOK
        ${If} $updating = 1
          ReadEnvStr $0 COUNTERSIGN_RESTART
          Exec '"$former\Countersign.exe" $0'
        ${EndIf}
        SetErrorLevel 4
        Quit
      ${EndIf}
    ${EndIf}
  ${EndIf}
  ; Ticked for a person who installs it first; later as the person has it, and silently only where that was asked for.
  ClearErrors
  ${GetOptions} $0 "/AUTOSTART" $1
  ${If} ${Errors}
  ${AndIf} $starts <> 1
    ${If} ${Silent}
    ${OrIf} ${FileExists} "$former\Countersign.exe"
      !insertmacro UnselectSection ${start_with_windows}
    ${EndIf}
  ${EndIf}
FunctionEnd

; The old program or the new one comes back.
Function Restart
  ${If} $updating = 1
    ReadEnvStr $0 COUNTERSIGN_RESTART
    Exec '"$INSTDIR\Countersign.exe" $0'
  ${ElseIf} $ran = 1
  ${AndIf} ${Silent} ; otherwise the last page offers it
    Exec '"$INSTDIR\Countersign.exe" --hidden'
  ${EndIf}
FunctionEnd

Function .onInstSuccess
  Call Restart
FunctionEnd

Function .onInstFailed
  Call Restart
FunctionEnd

Function un.onInit
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/REMOVEDATA" $1
  ${IfNot} ${Errors}
    StrCpy $removing 1
  ${EndIf}
  ClearErrors
  ${GetOptions} $0 "/REPLACEDBY=" $replaced
FunctionEnd

Section "Uninstall"
  Call un.WaitForEnd
  ${If} $removing != 1
  ${AndIf} $replaced == ""
    ; The folder is the one that the program uses when it is told no other, or the one that earlier versions used.
    ${If} ${FileExists} "$LOCALAPPDATA\countersign\*.*"
    ${OrIf} ${FileExists} "$APPDATA\countersign\*.*"
      MessageBox MB_YESNO|MB_ICONQUESTION|MB_DEFBUTTON2 "$(remove_data)" /SD IDNO IDNO keep
      StrCpy $removing 1
      keep:
    ${EndIf}
  ${EndIf}
  ${If} $removing = 1 ; the program knows where everything is, also its key in the Credential Manager
    ExecWait '"$INSTDIR\Countersign.exe" forget --everything' $0
    ${If} $0 <> 0
      MessageBox MB_OK|MB_ICONEXCLAMATION "$(not_all_removed)" /SD IDOK
    ${EndIf}
  ${EndIf}
  Delete "$INSTDIR\Countersign.exe"
  Delete "$INSTDIR\NOTICES.txt"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\Countersign.lnk"
  Delete "$TEMP\systray_temp_icon_*" ; the tray's pictures, which any program that has such makes again
  ${If} $replaced == ""
    Delete "$SENDTO\Countersign.lnk"
    DeleteRegValue HKCU "${RUN_KEY}" "Countersign"
    DeleteRegValue HKCU "${APPROVED_KEY}" "Countersign"
  ${Else}
    ${If} ${FileExists} "$SENDTO\Countersign.lnk"
      CreateShortCut "$SENDTO\Countersign.lnk" "$replaced"
    ${EndIf}
    ReadRegStr $0 HKCU "${RUN_KEY}" "Countersign"
    ${If} $0 != ""
      WriteRegStr HKCU "${RUN_KEY}" "Countersign" '"$replaced" --hidden'
    ${EndIf}
  ${EndIf}
  DeleteRegKey HKCU "${OFFICE_KEY}"
  DeleteRegKey HKCU "${OFFICE_ENDING}"
  ; What the program notes for its notifications.
  DeleteRegKey HKCU "Software\Classes\AppUserModelId\${APP_ID}"
  DeleteRegKey HKCU "Software\Classes\AppUserModelId\${APP_ID} demo"
  DeleteRegKey HKCU "Software\Classes\CLSID\${ACTIVATOR}"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  DeleteRegKey HKCU "Software\Countersign"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd
