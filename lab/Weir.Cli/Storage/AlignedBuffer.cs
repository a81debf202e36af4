using System.Buffers;

namespace Weir.Cli.Storage;

/// <summary>Memory at an address that reads past the page cache accept; arrays are not aligned like that.</summary>
internal sealed unsafe class AlignedBuffer(int length) : MemoryManager<byte>
{
    /// <summary>What addresses, offsets and lengths must be multiples of.</summary>
    public const int Alignment = 4096;

    private void* _memory = NativeMemory.AlignedAlloc((nuint)length, Alignment);

    public override Span<byte> GetSpan() => new(_memory, length);

    public override MemoryHandle Pin(int elementIndex = 0) => new((byte*)_memory + elementIndex, default, this);

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing)
    {
        NativeMemory.AlignedFree(_memory);
        _memory = null;
    }
}
