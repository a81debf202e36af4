namespace Weir.Core.Sources;

/// <summary>
/// A sequence whose MoveNext may run user code or wait, read one item at a time: an item that has been read never waits for
/// the next one to be produced.
/// </summary>
internal sealed class LazySource<T>(IEnumerable<T> items) : TurnSource<T>
{
    private IEnumerator<T>? _enumerator;

    public override int KnownCount => -1;

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Advance(ref Chunk<T> chunk, int max, long index)
    {
        IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
        if (!enumerator.MoveNext())
        {
            return ClaimResult.Empty;
        }

        chunk.SetSingle(enumerator.Current, index);
        return ClaimResult.Claimed;
    }
}
