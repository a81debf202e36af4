using System.Diagnostics.CodeAnalysis;

namespace Weir.Runtimes;

/// <summary>The running calls of a <see cref="DirectRuntime"/>: how many there are, and the token that ends them after the grace period.</summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The source has neither timer nor link; processors may hold its token for longer than the runtime.")]
internal sealed class DirectCalls(object owner)
{
    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _ending = new();
    private TaskCompletionSource? _drained;
    private int _active;
    private bool _closed;
    private long _succeeded;
    private long _unsuccessful;
    private long _abandoned;

    /// <summary>Cancelled when the grace period has passed.</summary>
    public CancellationToken Ending => _ending.Token;

    /// <summary>The source of <see cref="Ending"/>, which a call without limits of its own uses as it is.</summary>
    public CancellationTokenSource EndingSource => _ending;

    public RuntimeStatistics Statistics
    {
        get
        {
            lock (_gate)
            {
                return new RuntimeStatistics
                {
                    ActiveCalls = _active,
                    InFlight = _active,
                    Succeeded = _succeeded,
                    Unsuccessful = _unsuccessful,
                    AbandonedWorkers = _abandoned,
                };
            }
        }
    }

    public void ThrowIfClosed()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_closed, owner);
        }
    }

    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    public void Enter()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_closed, owner);
            _active++;
        }
    }

    public void Leave(long succeeded, long unsuccessful, long abandoned)
    {
        TaskCompletionSource? drained = null;
        lock (_gate)
        {
            _active--;
            _succeeded += succeeded;
            _unsuccessful += unsuccessful;
            _abandoned += abandoned;
            if (_closed && _active == 0)
            {
                drained = _drained;
            }
        }

        drained?.TrySetResult();
    }

    public async Task CloseAsync(TimeSpan grace, TimeProvider time)
    {
        Task drained;
        lock (_gate)
        {
            _closed = true;
            _drained ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (_active == 0)
            {
                _drained.TrySetResult();
            }

            drained = _drained.Task;
        }

        try
        {
            await drained.WaitAsync(grace, time).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            await _ending.CancelAsync().ConfigureAwait(false);
            await drained.ConfigureAwait(false);
        }
    }
}
