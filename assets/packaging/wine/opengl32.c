// Stands in for an OpenGL in software: every call is handed on to that of Windows, and a file beside the library says that it
// was loaded. The stubs that jump to targets, and names.h, are made by the test.
#include <windows.h>

static const char *names[] = {
#include "names.h"
};
void *targets[sizeof names / sizeof *names];
__declspec(dllimport) int beside(void);

BOOL WINAPI DllMain(HINSTANCE self, DWORD why, void *reserved) {
	wchar_t path[MAX_PATH + 8];
	if (why != DLL_PROCESS_ATTACH) return TRUE;
	HMODULE real = LoadLibraryW(L"C:\\windows\\system32\\opengl32.dll");
	if (!real || real == self || !beside()) return FALSE;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) targets[i] = (void *)GetProcAddress(real, names[i]);
	GetModuleFileNameW(self, path, MAX_PATH);
	wcscat(path, L".used");
	CloseHandle(CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL));
	return TRUE;
}
