namespace Weir.Dataflow.Waiters;

/// <summary>A waiter that its block keeps for the next time, so that waiting allocates nothing.</summary>
internal interface IReusableWaiter
{
    CancellationTokenRegistration Registration { get; set; }

    /// <summary>The result was read, and nothing can complete the waiter any more.</summary>
    void Keep();
}
