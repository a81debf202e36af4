using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>A run of a source through a call into a sink.</summary>
internal sealed class Pump<TItem, TResult, TPending, TCall, TSink> : Pump
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
    where TSink : struct, ISink<TResult>
{
    public readonly Source<TItem> Source;
    public readonly TCall Call;
    public readonly TSink Sink;

    public Pump(Source<TItem> source, TCall call, TSink sink, PumpSettings settings)
        : base(settings)
    {
        Source = source;
        Call = call;
        Sink = sink;
        source.CancellationToken = Token;
    }

    protected override bool IsExhausted => Source.IsExhausted;

    protected override bool IsBusy => Source.IsBusy;

    protected override bool IsAtCeiling => Source.IsAt(Sink.Ceiling);

    protected override bool ReadsOneByOne => Source.TakesTurns && Source.KnownCount < 0;

    protected override int KnownCount => Source.KnownCount;

    protected override long NextIndex => Source.NextIndex;

    protected override PumpWorker CreateWorker() => new PumpWorker<TItem, TResult, TPending, TCall, TSink>(this);

    protected override ValueTask DisposeSourceAsync() => Source.DisposeAsync();

    protected override void Complete(CancellationToken? cancelledBy, FailureLog? failures) =>
        Sink.Complete(new RunEnd(cancelledBy, failures, Source.NextIndex, Source.LeftOver()));
}
