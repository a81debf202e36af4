using System.Runtime.InteropServices;

namespace Weir.Core.Sources;

/// <summary>The items of a list, read in place. A list that changes length during the run fails the run.</summary>
internal sealed class ListSource<T>(List<T> list) : IndexedSource<T>(list.Count)
{
    public override T? At(long index)
    {
        ReadOnlySpan<T> items = CollectionsMarshal.AsSpan(list);
        return index < items.Length ? items[(int)index] : default;
    }

    protected override void Fill(ref Chunk<T> chunk, int first, int count)
    {
        if (list.Count != KnownCount)
        {
            throw new InvalidOperationException("The source list was changed while the run was reading it.");
        }

        chunk.SetList(list, first, count);
    }
}
