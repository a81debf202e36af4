using Weir.Core;
using Weir.Resilience;

namespace Weir.Http;

/// <summary>Cancels an attempt in which the server sends nothing for too long. Time counts only while the attempt waits for the server.</summary>
internal sealed class ReadTimeoutWatch : IDisposable
{
    private readonly CancellationTokenSource _source;
    private readonly CancellationToken _caller;
    private readonly TimeSpan? _limit;
    private readonly ITimer? _timer;

    public ReadTimeoutWatch(TimeSpan? limit, TimeProvider timeProvider, CancellationToken caller)
    {
        _limit = limit;
        _caller = caller;
        _source = CancellationTokenSource.CreateLinkedTokenSource(caller);
        if (limit is not null)
        {
            _timer = timeProvider.CreateTimer(
                static source => Unattended.Run(
                    (CancellationTokenSource)source!, static source => SafeCancel.Now(source), static (source, _) => SafeCancel.Now(source)),
                _source,
                Timeout.InfiniteTimeSpan,
                Timeout.InfiniteTimeSpan);
        }
    }

    public CancellationToken Token => _source.Token;

    /// <summary>The wait for the server begins, with all of its time.</summary>
    public void Start()
    {
        if (_limit is { } limit)
        {
            _timer!.Change(limit, Timeout.InfiniteTimeSpan);
        }
    }

    /// <summary>The server sent something. What it is used for takes none of its time.</summary>
    public void Stop() => _timer?.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

    /// <summary>What a cancellation of <see cref="Token"/> means, if it was not the caller's.</summary>
    public TimeoutException? AsTimeout() =>
        _source.IsCancellationRequested && !_caller.IsCancellationRequested ? new TimeoutException($"The server sent nothing for {_limit}.") : null;

    public void Dispose()
    {
        _timer?.Dispose();
        _source.Dispose();
    }
}
