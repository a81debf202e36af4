using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;

namespace Weir.Dataflow.Cores;

/// <summary>The core of an ActionBlock. It has no output side, so the block completes when the input has ended.</summary>
internal sealed class ActionCore<T> : ExecCore<T>
{
    /// <summary>
    /// From this capacity on, the worker frees room without the lock. In a smaller block, a sender waits most of the time, so it takes the lock anyway.
    /// </summary>
    private const int FewForCounting = 16;

    private readonly ITargetBlock<T> _owner;
    private readonly Action<T>? _action;
    private readonly Func<T, Task>? _asyncAction;
    private BlockCompletion _completion;

    public ActionCore(ITargetBlock<T> owner, Action<T>? action, Func<T, Task>? asyncAction, BlockOptions options)
        : base(options, workerFrees: action is not null && options.IsBounded && options.Capacity >= FewForCounting && options.Parallelism == 1)
    {
        _owner = owner;
        _action = action;
        _asyncAction = asyncAction;
        ListenToToken();
    }

    public Task Completion => _completion.Task;

    protected override ITargetBlock<T> Self => _owner;

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.IsCompleted = _completion.IsCompleted;
    }

    protected override bool Process(T item, long id)
    {
        Task? task = null;
        try
        {
            if (_action is not null)
            {
                _action(item);
            }
            else
            {
                task = _asyncAction!(item);
            }
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }

        if (task is not null)
        {
            return ProcessTask(item, id, task);
        }

        Free(1, onWorker: true);
        return true;
    }

    protected override Task? TaskDone(T item, long id, Task? task, bool onWorker)
    {
        TaskFailed(item, task);
        Free(1, onWorker);
        return null;
    }

    protected override bool ProcessAll(InputQueue<T> queue, ReadOnlySpan<T> items, ref int budget)
    {
        bool frees = WorkerFrees;
        return _action is null || (IsBounded && !frees)
            ? base.ProcessAll(queue, items, ref budget)
            : ProcessAll(new Call(_action, frees ? this : null), queue, items, ref budget);
    }

    protected override void Finished(List<Exception>? exceptions)
    {
        StopListening();
        EndMetering();
        _completion.Complete(exceptions, Options.Token);
    }

    private readonly struct Call(Action<T> action, ActionCore<T>? frees) : IMessageCall
    {
        public void Run(T item)
        {
            action(item);
            frees?.FreeByWorker();
        }

        public void Failed() => frees?.FreeByWorker();
    }
}
