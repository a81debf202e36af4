namespace Weir.Core.Sources;

/// <summary>Batches of a sequence whose MoveNext may run user code or block.</summary>
internal sealed class LazyBatchSource<T>(IEnumerable<T> items, int batchSize) : OneByOneSource<IReadOnlyList<T>>
{
    private IEnumerator<T>? _enumerator;
    private BatchBuffer<T> _batch = new(batchSize);
    private bool _ended;

    public override bool BeginsWhatWasRead => true;

    protected override bool IsDrained => base.IsDrained || (IsStopped && _batch.Count == 0);

    public override ValueTask DisposeAsync()
    {
        _enumerator?.Dispose();
        return default;
    }

    protected override ClaimResult Step(out IReadOnlyList<T>? item)
    {
        item = null;
        try
        {
            if (!TryFill())
            {
                // The batch stays as it is.
                return ClaimResult.Paused;
            }
        }
        catch (Exception) when (IsStopped)
        {
            // Dropped, as all that a source throws after a stop.
            _ended = true;
        }

        if (_batch.Count == 0)
        {
            return ClaimResult.Empty;
        }

        item = _batch.Take();
        return ClaimResult.Claimed;
    }

    /// <summary>Reads until the batch is full, the sequence ends or the reading stops.</summary>
    /// <returns>
    /// False if the reading pauses, even if the pause has ended since: the caller must not mistake it for the end of the sequence. Also if the run is over: the
    /// batch may never become full, and its worker leaves.
    /// </returns>
    private bool TryFill()
    {
        CancellationToken over = CancellationToken;
        while (!_ended && !_batch.IsFull)
        {
            if (HasOrder)
            {
                return IsStopped;
            }

            if (over.IsCancellationRequested)
            {
                return false;
            }

            IEnumerator<T> enumerator = _enumerator ??= items.GetEnumerator();
            if (enumerator.MoveNext())
            {
                _batch.Add(enumerator.Current);
            }
            else
            {
                _ended = true;
            }
        }

        return true;
    }
}
