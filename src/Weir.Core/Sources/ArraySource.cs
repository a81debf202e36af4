namespace Weir.Core.Sources;

/// <summary>The items of an array or of a part of one, read in place.</summary>
internal sealed class ArraySource<T>(T[] array, int offset, int count) : IndexedSource<T>(count)
{
    public override T? At(long index) => array[offset + index];

    protected override void Fill(ref Chunk<T> chunk, int first, int count) => chunk.SetArray(array, offset + first, count, first);
}
