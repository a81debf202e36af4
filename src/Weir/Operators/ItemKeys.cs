using Weir.Core.Sources;

namespace Weir.Operators;

/// <summary>The keys of items, whatever their type.</summary>
internal abstract class ItemKeys<T>
{
    /// <summary>Puts a source's items into lanes by key.</summary>
    /// <param name="source">The items.</param>
    /// <param name="mostWaiting">How many may wait for their lane.</param>
    public abstract Source<T> Lanes(Source<T> source, int mostWaiting);
}

/// <summary>The keys of items, by a function of the user's, and how many of a key may be out at once.</summary>
internal sealed class ItemKeys<T, TKey>(Func<T, TKey> keyOf, int perLane) : ItemKeys<T>
    where TKey : notnull
{
    public override Source<T> Lanes(Source<T> source, int mostWaiting) => new KeyedSource<T, TKey>(source, keyOf, null, perLane, mostWaiting);
}
