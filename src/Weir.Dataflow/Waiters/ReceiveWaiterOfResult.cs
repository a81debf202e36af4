namespace Weir.Dataflow.Waiters;

/// <summary>A receiver, and what it gets in the end.</summary>
internal abstract class ReceiveWaiter<T, TResult> : ReceiveWaiter<T>, IReusableWaiter
{
    private readonly IWaitResult<TResult> _result;

    protected ReceiveWaiter(ReceiveSource<T> source, bool takesMessage, bool isReused)
        : base(source, takesMessage) => _result = isReused ? new ValueResult<TResult>(this) : new TaskResult<TResult>();

    /// <summary>The result of one that is not reused.</summary>
    public Task<TResult> Task => ((TaskResult<TResult>)_result).Task;

    public ITimer? Timer { get; set; }

    /// <summary>Begins a wait of one that is reused.</summary>
    public ValueTask<TResult> Begin()
    {
        IsGivenUp = false;
        return ((ValueResult<TResult>)_result).Begin();
    }

    public void Expire() => Source.GiveUp(this, timedOut: true, default);

    public override void Fail(Exception exception)
    {
        Free();
        _result.Fail(exception);
    }

    public override void GiveUp(bool timedOut, CancellationToken token)
    {
        Free();
        if (timedOut)
        {
            _result.Fail(new TimeoutException());
        }
        else
        {
            _result.Cancel(token);
        }
    }

    public abstract void Keep();

    protected void Set(TResult result)
    {
        Free();
        _result.Set(result);
    }

    // One that is reused gives its registration back when the result is read, and waits for it.
    private void Free()
    {
        if (_result is TaskResult<TResult>)
        {
            Registration.Unregister();
            Timer?.Dispose();
        }
    }
}
