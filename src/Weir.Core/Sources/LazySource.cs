namespace Weir.Core.Sources;

/// <summary>A sequence whose MoveNext may run user code or block.</summary>
internal sealed class LazySource<T>(IEnumerable<T> items) : OneByOneSource<T>
{
    private IEnumerator<T>? _enumerator;

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Step(out T? item)
    {
        IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
        if (!enumerator.MoveNext())
        {
            item = default;
            return ClaimResult.Empty;
        }

        item = enumerator.Current;
        return ClaimResult.Claimed;
    }
}
