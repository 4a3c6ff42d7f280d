/* For the tests: starts a program as a console of Windows starts one that is linked for windows, without any streams,
 * and ends as it ends. Wine's own consoles hand theirs on. */
#include <windows.h>
#include <wchar.h>

int wmain(int count, wchar_t **words) {
	STARTUPINFOW start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
	PROCESS_INFORMATION process;
	DWORD code = 1;
	wchar_t line[4096] = L"";
	for (int i = 1; i < count; i++) {
		if (wcslen(line) + wcslen(words[i]) + 4 > sizeof line / sizeof *line) return 1;
		wcscat(wcscat(wcscat(line, L"\""), words[i]), L"\" ");
	}
	if (!CreateProcessW(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &start, &process)) return 1;
	WaitForSingleObject(process.hProcess, INFINITE);
	GetExitCodeProcess(process.hProcess, &code);
	return (int)code;
}
