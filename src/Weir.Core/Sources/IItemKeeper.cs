namespace Weir.Core.Sources;

/// <summary>Gets each item that a source reads, before any worker has it. One thread at a time calls it.</summary>
internal interface IItemKeeper<in T>
{
    void Add(long index, T item);
}
