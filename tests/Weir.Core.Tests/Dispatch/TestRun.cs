using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Tests.Dispatch;

/// <summary>A run of the engine over a source, with a selector and a list, as the operators make it.</summary>
internal sealed class TestRun<TItem, TResult>
{
    private readonly ListCompletion<TResult> _completion;

    public TestRun(Source<TItem> source, Func<TItem, CancellationToken, ValueTask<TResult>> selector, PumpSettings settings)
    {
        _completion = new ListCompletion<TResult>(Math.Max(0, source.KnownCount));
        Source = source;
        Pump = source.KnownCount >= 0
            ? new Pump<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, ListSink<TResult>>(
                source, new SelectorCall<TItem, TResult>(selector), new ListSink<TResult>(_completion), settings)
            : new Pump<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, GrowingListSink<TResult>>(
                source, new SelectorCall<TItem, TResult>(selector), new GrowingListSink<TResult>(_completion), settings);
    }

    public Source<TItem> Source { get; }

    public Pump Pump { get; }

    public Task<List<TResult>> Task => _completion.Task;

    public TestRun<TItem, TResult> Start(CancellationToken cancellationToken = default)
    {
        if (Pump.Settings.Executor is ManualExecutor)
        {
            ManualExecutor.Start(Pump, cancellationToken);
        }
        else
        {
            Pump.Start(1, cancellationToken);
        }

        return this;
    }
}
