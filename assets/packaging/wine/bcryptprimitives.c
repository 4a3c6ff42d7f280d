/* What Wine 8 lacks of Windows 10, for the tests only: Go programs load this library from system32 as they start.
 *
 * ProcessPrng is missing; RtlGenRandom (SystemFunction036) does the same.
 *
 * Deleting with POSIX semantics (FileDispositionInformationEx) answers "not implemented", which no Windows ever does.
 * One that does not know the request says "invalid class", and Go then deletes in the older way. So that the programs
 * under test stay as they are shipped, the answer is put right here, in the process, in front of ntdll. */
#include <windows.h>
#include <string.h>

#define NOT_IMPLEMENTED ((LONG)0xC0000002)
#define INVALID_CLASS   ((LONG)0xC0000003)

typedef LONG(NTAPI *set_information)(HANDLE, void *, void *, ULONG, ULONG);

static set_information original;

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
	return SystemFunction036(bytes, (ULONG)count);
}

static LONG NTAPI corrected(HANDLE file, void *status, void *info, ULONG size, ULONG class) {
	LONG answer = original(file, status, info, size, class);
	return answer == NOT_IMPLEMENTED ? INVALID_CLASS : answer;
}

/* Wine's system calls are short pieces of code that run at any address, so a copy stays callable once the first bytes
 * of the real one jump to corrected. Anything else than such a piece is left alone. */
BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved) {
	static const BYTE system_call[] = {0x4c, 0x8b, 0xd1, 0xb8};       /* mov r10, rcx; mov eax, number */
	BYTE jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; /* mov rax, corrected; jmp rax */
	enum { longest = 32 };
	void *target = corrected;
	DWORD before;
	if (reason != DLL_PROCESS_ATTACH) return TRUE;
	BYTE *entry = (BYTE *)GetProcAddress(GetModuleHandleA("ntdll.dll"), "NtSetInformationFile");
	if (!entry || memcmp(entry, system_call, sizeof system_call)) return TRUE;
	BYTE *copy = VirtualAlloc(NULL, longest, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
	if (!copy || !VirtualProtect(entry, sizeof jump, PAGE_EXECUTE_READWRITE, &before)) return TRUE;
	memcpy(copy, entry, longest);
	original = (set_information)copy;
	memcpy(jump + 2, &target, sizeof target);
	memcpy(entry, jump, sizeof jump);
	VirtualProtect(entry, sizeof jump, before, &before);
	return TRUE;
}
