namespace Weir.Lab.Resources;

/// <summary>
/// What all threads and the calling one have allocated, exactly and at one moment, so that the caller's own bytes can be taken from those of all.
/// </summary>
/// <param name="All">Bytes that all threads have allocated.</param>
/// <param name="Own">Bytes that the calling thread has allocated.</param>
internal readonly record struct AllocationSample(long All, long Own)
{
    /// <summary>Reads both. It briefly stops all threads.</summary>
    public static AllocationSample Take() => new(GC.GetTotalAllocatedBytes(precise: true), GC.GetAllocatedBytesForCurrentThread());

    /// <summary>Bytes that the other threads have allocated since an earlier sample of the same thread.</summary>
    public long OfOthersSince(in AllocationSample before) => All - before.All - (Own - before.Own);
}
