namespace Weir.Core.Dispatch;

/// <summary>A parked call, with what it waits for.</summary>
internal sealed class ParkedCall<TResult, TPending> : ParkedCall
    where TPending : struct, IPending<TResult>
{
    private TPending _pending;

    /// <summary>Waits for the end of a call, which waits for a task. From here on, another thread may be in it.</summary>
    public void Wait(TPending pending)
    {
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
