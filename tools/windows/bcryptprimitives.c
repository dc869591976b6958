// bcryptprimitives.dll for Wine 8: programs of Go 1.22 and later take their random numbers from its ProcessPrng, which Wine has
// only since a later release. SystemFunction036 (RtlGenRandom) is what older ones used.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
	while (size > 0) {
		ULONG part = size > 1 << 20 ? 1 << 20 : (ULONG)size;
		if (!SystemFunction036(data, part))
			return FALSE;
		data += part;
		size -= part;
	}
	return TRUE;
}
