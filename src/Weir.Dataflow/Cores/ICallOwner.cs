namespace Weir.Dataflow.Cores;

/// <summary>A block that waits for asynchronous calls of its delegate.</summary>
internal interface ICallOwner<TIn>
{
    /// <summary>A call that the block waited for has ended.</summary>
    void CallDone(CallHandle<TIn> handle, Task task, TIn item, long id);
}
