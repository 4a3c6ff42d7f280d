// Waits for a message box of the program, prints what it says, as UTF-8, and closes it as a press on its button does.
#include <windows.h>
#include <stdio.h>

static BOOL CALLBACK is(HWND window, LPARAM found) {
	WCHAR kind[64], title[64];
	GetClassNameW(window, kind, 64);
	GetWindowTextW(window, title, 64);
	if (!IsWindowVisible(window) || wcscmp(kind, L"#32770") || wcscmp(title, L"Countersign"))
		return TRUE;
	*(HWND *)found = window;
	return FALSE;
}

static BOOL CALLBACK says(HWND part, LPARAM unused) {
	WCHAR kind[64], text[4096];
	char told[3 * 4096];
	GetClassNameW(part, kind, 64);
	if (!lstrcmpiW(kind, L"Static") && GetWindowTextW(part, text, 4096)) {
		WideCharToMultiByte(CP_UTF8, 0, text, -1, told, sizeof told, NULL, NULL);
		printf("%s\n", told);
	}
	return TRUE;
}

int wmain(int count, wchar_t **words) {
	HWND box = NULL;
	ULONGLONG until = GetTickCount64() + 90000;
	while (EnumWindows(is, (LPARAM)&box), !box) {
		if (GetTickCount64() > until)
			return 1;
		Sleep(100);
	}
	EnumChildWindows(box, says, 0);
	if (count > 1) // where the box is to be drawn for a picture first
		Sleep(2000);
	while (IsWindow(box)) {
		if (GetTickCount64() > until)
			return 2;
		PostMessageW(box, WM_COMMAND, IDOK, 0);
		Sleep(100);
	}
	return 0;
}
