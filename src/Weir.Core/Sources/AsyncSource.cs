using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Sources;

/// <summary>An asynchronous sequence.</summary>
internal sealed class AsyncSource<T>(IAsyncEnumerable<T> items) : OneByOneSource<T>
{
    private IAsyncEnumerator<T>? _enumerator;

    // Written only if the sequence does not complete synchronously, so that the common case needs no write barrier.
    private ValueTask<bool> _moving;

    public override void OnReady(Action continuation) => _moving.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public override ValueTask DisposeAsync() => _enumerator?.DisposeAsync() ?? default;

    protected override ClaimResult Step(out T? item)
    {
        IAsyncEnumerator<T> enumerator = _enumerator ??= items.GetAsyncEnumerator(CancellationToken);
        ValueTask<bool> moving = enumerator.MoveNextAsync();
        if (!moving.IsCompleted)
        {
            _moving = moving;
            item = default;
            return ClaimResult.Pending;
        }

        return Take(moving.GetAwaiter().GetResult(), out item);
    }

    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Taken out of the field, consumed once.")]
    protected override ClaimResult FinishStep(out T? item)
    {
        ValueTask<bool> moving = _moving;
        _moving = default;
        return Take(moving.GetAwaiter().GetResult(), out item);
    }

    private ClaimResult Take(bool moved, out T? item)
    {
        item = moved ? _enumerator!.Current : default;
        return moved ? ClaimResult.Claimed : ClaimResult.Empty;
    }
}
