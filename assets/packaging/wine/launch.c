// Starts a program as the desktop does: without a console and without anywhere to print to.
#include <windows.h>

int wmain(int count, wchar_t **words) {
	STARTUPINFOW start = {sizeof start};
	PROCESS_INFORMATION made;
	wchar_t line[4096] = L"";
	start.dwFlags = STARTF_USESTDHANDLES;
	for (int i = 1; i < count; i++) {
		wcscat(line, L"\"");
		wcscat(line, words[i]);
		wcscat(line, L"\" ");
	}
	return CreateProcessW(NULL, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, NULL, &start, &made) ? 0 : 1;
}
