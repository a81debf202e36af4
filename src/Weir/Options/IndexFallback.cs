namespace Weir;

/// <summary>A fallback that gets the item's index.</summary>
internal sealed class IndexFallback<TResult>(Func<int, Exception, ValueTask<TResult>> result) : TypedFallback<TResult>
{
    internal override Type? ItemType => null;

    public override ValueTask<TResult> GetAsync(object? item, long index, int attempt, Exception error) => result(Indices.ToInt(index), error);
}
