using System.Collections;

namespace Weir.Tests.Operators.Support;

/// <summary>A list that is neither an array nor a List.</summary>
internal sealed class IndexedItems(int count) : IReadOnlyList<int>
{
    public int Count => count;

    public int this[int index] => index >= 0 && index < count ? index : throw new ArgumentOutOfRangeException(nameof(index));

    public IEnumerator<int> GetEnumerator()
    {
        for (int i = 0; i < count; i++)
        {
            yield return i;
        }
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
