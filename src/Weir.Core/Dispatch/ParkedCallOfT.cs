namespace Weir.Core.Dispatch;

/// <summary>A parked call, with what it waits for.</summary>
internal sealed class ParkedCall<TResult, TPending> : ParkedCall
    where TPending : struct, IPending<TResult>
{
    private TPending _pending;

    /// <summary>Waits for the end of a call. From here on, another thread may be in it.</summary>
    /// <param name="run">The run.</param>
    /// <param name="index">The item's index.</param>
    /// <param name="pending">The call, which waits for a task.</param>
    public void Begin(Pump run, long index, TPending pending)
    {
        Begin(run, index);
        _pending = pending;
        pending.OnCompleted(Continuation);
    }

    /// <summary>Takes the call that has ended.</summary>
    public TPending Take()
    {
        TPending pending = _pending;
        _pending = default;
        return pending;
    }
}
