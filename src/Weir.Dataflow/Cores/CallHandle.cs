namespace Weir.Dataflow.Cores;

/// <summary>Waits for one asynchronous call of a block's delegate, and is reused for the next one.</summary>
internal sealed class CallHandle<TIn>
{
    private readonly ExecCore<TIn> _owner;
    private readonly Action _continuation;
    private Task? _task;
    private TIn? _item;
    private long _id;

    public CallHandle(ExecCore<TIn> owner)
    {
        _owner = owner;
        _continuation = Continue;
    }

    public void Await(Task task, TIn item, long id)
    {
        _task = task;
        _item = item;
        _id = id;
        task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_continuation);
    }

    private void Continue()
    {
        Task task = _task!;
        TIn item = _item!;
        long id = _id;
        _task = null;
        _item = default;
        _owner.CallDone(this, task, item, id);
    }
}
