using System.Threading.Tasks.Sources;

namespace Weir.Resilience;

/// <summary>
/// A place in the queue of a <see cref="TokenBucket"/>. It does not ask for tokens before it is awaited. Then the thread that takes the tokens is the one that
/// continues with the call, and nothing comes in between.
/// </summary>
internal sealed class RateTurn : IValueTaskSource<IDisposable?>
{
    private readonly TokenBucket _bucket;
    private readonly CancellationToken _cancellationToken;
    private ManualResetValueTaskSourceCore<IDisposable?> _core;

    public RateTurn(TokenBucket bucket, CancellationToken cancellationToken)
    {
        _bucket = bucket;
        _cancellationToken = cancellationToken;
        Node = new LinkedListNode<RateTurn>(this);
    }

    /// <summary>The place itself.</summary>
    public LinkedListNode<RateTurn> Node { get; }

    /// <summary>Completes when this is the first place.</summary>
    public TaskCompletionSource First { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public ValueTask<IDisposable?> Wait => new(this, _core.Version);

    IDisposable? IValueTaskSource<IDisposable?>.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<IDisposable?>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<IDisposable?>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        _core.OnCompleted(continuation, state, token, flags);
        _ = WaitAsync();
    }

    private async Task WaitAsync()
    {
        Exception? failure = null;
        try
        {
            // Never on the stack of the caller, which does not expect to continue before it has begun to wait; also if the wait ends just now.
            await _bucket.UntilMayAskAsync(this, _cancellationToken).ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            _cancellationToken.ThrowIfCancellationRequested();

            // In the method that completes the wait. The end of another async method could be found by a thread that is only about to await it, and that
            // would continue some time after the tokens were taken.
            while (!_bucket.TryTakeFirst(this, out long start))
            {
                await _bucket.UntilAsync(start, _cancellationToken).ConfigureAwait(false);
                _cancellationToken.ThrowIfCancellationRequested();
            }
        }
        catch (Exception e)
        {
            failure = e;
        }

        if (failure is null)
        {
            _core.SetResult(null);
        }
        else
        {
            _bucket.Leave(this);
            _core.SetException(failure);
        }
    }
}
