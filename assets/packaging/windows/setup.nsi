; Countersign's installer: for the person who runs it, without an administrator. internal/release gives PROGRAM (the
; program's file), NOTICES, ICON, OUT (the installer's file), VERSION, NUMBERS (four, with dots), OPENGL (a folder with
; an OpenGL in software) where there is one and, where installers are signed, SIGN (a command that signs the file named as its last argument).
;
; Silently: Countersign-setup.exe /S [/AUTOSTART] [/UPDATE] [/D=C:\folder]; it ends with 2 when Countersign is running. With
; /UPDATE, which the program itself gives, it waits a minute for the program's end, and starts it again however it went, with what
; the environment's COUNTERSIGN_RESTART says; what a person has removed, such as the entry in Send to, stays removed.
Target amd64-unicode
SetCompressor /SOLID lzma
SetDateSave off
RequestExecutionLevel user
ManifestDPIAware true
ManifestSupportedOS Win10
!include MUI2.nsh
!include FileFunc.nsh

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

; A program that runs cannot be replaced. Only the person can end it: it may be in the middle of a sending.
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
  StrCmp $updating 1 0 ask
  IntCmp $1 120 ask 0 ask
  IntOp $1 $1 + 1
  Sleep 500
  Goto again
  ask:
  MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(is_running)" /SD IDCANCEL IDRETRY again
  SetErrorLevel 2
  Quit
  ended:
FunctionEnd
!macroend
!insertmacro WAIT_FOR_END ""
!insertmacro WAIT_FOR_END "un."

Section "Countersign" the_program
  SectionIn RO
  Call WaitForEnd
  SetOutPath "$INSTDIR"
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
  File "/oname=NOTICES.txt" "${NOTICES}"
  RMDir /r "$INSTDIR\opengl"
!ifdef OPENGL
  ; In a folder of its own: right beside the program Windows would take it for every screen.
  SetOutPath "$INSTDIR\opengl"
  File "${OPENGL}/*.dll"
  SetOutPath "$INSTDIR"
!endif
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortCut "$SMPROGRAMS\Countersign.lnk" "$INSTDIR\Countersign.exe"
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

Section /o "$(autostart_name)" start_with_windows
  WriteRegStr HKCU "${RUN_KEY}" "Countersign" '"$INSTDIR\Countersign.exe" --hidden'
  DeleteRegValue HKCU "${APPROVED_KEY}" "Countersign"
SectionEnd

!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${the_program} $(about_program)
  !insertmacro MUI_DESCRIPTION_TEXT ${send_to} $(about_sendto)
  !insertmacro MUI_DESCRIPTION_TEXT ${start_with_windows} $(about_autostart)
!insertmacro MUI_FUNCTION_DESCRIPTION_END

Function .onInit
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/AUTOSTART" $1
  IfErrors not_asked
  !insertmacro SelectSection ${start_with_windows}
  not_asked:
  ClearErrors
  ${GetOptions} $0 "/UPDATE" $1
  IfErrors not_updating
  StrCpy $updating 1
  IfFileExists "$SENDTO\Countersign.lnk" not_updating
  !insertmacro UnselectSection ${send_to}
  not_updating:
FunctionEnd

; The old program or the new one comes back.
Function Restart
  StrCmp $updating 1 0 stay
  ReadEnvStr $0 COUNTERSIGN_RESTART
  Exec '"$INSTDIR\Countersign.exe" $0'
  stay:
FunctionEnd

Function .onInstSuccess
  Call Restart
FunctionEnd

Function .onInstFailed
  Call Restart
FunctionEnd

Function un.onInit
  !insertmacro MUI_UNGETLANGUAGE
FunctionEnd

Section "Uninstall"
  Call un.WaitForEnd
  Delete "$INSTDIR\Countersign.exe"
  Delete "$INSTDIR\NOTICES.txt"
  RMDir /r "$INSTDIR\opengl"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\Countersign.lnk"
  Delete "$SENDTO\Countersign.lnk"
  DeleteRegValue HKCU "${RUN_KEY}" "Countersign"
  DeleteRegValue HKCU "${APPROVED_KEY}" "Countersign"
  DeleteRegKey HKCU "${OFFICE_KEY}"
  DeleteRegKey HKCU "${OFFICE_ENDING}"
  ; What the program notes for its notifications.
  DeleteRegKey HKCU "Software\Classes\AppUserModelId\Countersign"
  DeleteRegKey HKCU "Software\Classes\AppUserModelId\Countersign demo"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  DeleteRegKey HKCU "Software\Countersign"
  ; The folder is the one that the program uses when it is told no other, or the one that earlier versions used.
  IfFileExists "$LOCALAPPDATA\countersign\*.*" ask
  IfFileExists "$APPDATA\countersign\*.*" 0 done
  ask:
  MessageBox MB_YESNO|MB_ICONQUESTION|MB_DEFBUTTON2 "$(remove_data)" /SD IDNO IDNO done
  RMDir /r "$LOCALAPPDATA\countersign"
  RMDir /r "$LOCALAPPDATA\countersign.moving"
  RMDir /r "$APPDATA\countersign"
  RMDir /r "$APPDATA\fyne\ch.countersign.app"
  done:
SectionEnd
