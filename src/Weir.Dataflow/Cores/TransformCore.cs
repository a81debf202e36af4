using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Cores;

/// <summary>What a TransformBlock does.</summary>
internal sealed class TransformCore<TIn, TOut> : OutputExecCore<TIn, TOut>
{
    private readonly Func<TIn, TOut>? _transform;
    private readonly Func<TIn, Task<TOut>>? _asyncTransform;

    public TransformCore(
        IPropagatorBlock<TIn, TOut> owner, Func<TIn, TOut>? transform, Func<TIn, Task<TOut>>? asyncTransform, BlockOptions options)
        : base(owner, options)
    {
        _transform = transform;
        _asyncTransform = asyncTransform;
        ListenToToken();
    }

    protected override bool Process(TIn item, long id)
    {
        TOut output = default!;
        Task? task = null;
        try
        {
            if (_transform is not null)
            {
                output = _transform(item);
            }
            else
            {
                task = _asyncTransform!(item);
            }
        }
        catch (Exception e)
        {
            return Threw(item, id, e);
        }

        if (_transform is null)
        {
            return ProcessTask(item, id, task);
        }

        Emit(item, id, output);
        return true;
    }

    protected override bool ProcessAll(InputQueue<TIn> queue, ReadOnlySpan<TIn> items, ref int budget) =>
        _transform is null || IsBounded
            ? base.ProcessAll(queue, items, ref budget)
            : ProcessAll(new Call(_transform, Source), queue, items, ref budget);

    protected override Task? TaskDone(TIn item, long id, Task? task, bool here)
    {
        if (task is { IsCompletedSuccessfully: true })
        {
            Emit(item, id, ((Task<TOut>)task).Result);
        }
        else
        {
            TaskFailed(item, task);
            EmitNothing(item, id, here);
        }

        return null;
    }

    private readonly struct Call(Func<TIn, TOut> transform, SourceCore<TOut> source) : IMessageCall<TIn>
    {
        public void Run(TIn item) => source.AddInTurn(transform(item))?.AfterLock();

        public void Failed()
        {
            // There is no output, so nothing waits for it.
        }
    }
}
