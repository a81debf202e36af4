namespace Weir.Dataflow.Tests.Probes;

/// <summary>A target written by hand: it records each call made to it and answers as the test says.</summary>
public sealed class ProbeTarget<T>(Func<ProbeTarget<T>, Offer<T>, DataflowMessageStatus>? answer = null) : ITargetBlock<T>
{
    private readonly TaskCompletionSource _completion = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ConcurrentQueue<Offer<T>> _offers = new();
    private readonly ConcurrentQueue<DataflowMessageStatus> _answers = new();
    private volatile Func<ProbeTarget<T>, Offer<T>, DataflowMessageStatus> _answer = answer ?? Accept;
    private Exception? _fault;
    private int _completes;

    public static Func<ProbeTarget<T>, Offer<T>, DataflowMessageStatus> Accept { get; } = static (_, _) => DataflowMessageStatus.Accepted;

    public static Func<ProbeTarget<T>, Offer<T>, DataflowMessageStatus> Postpone { get; } = static (_, _) => DataflowMessageStatus.Postponed;

    public static Func<ProbeTarget<T>, Offer<T>, DataflowMessageStatus> Decline { get; } = static (_, _) => DataflowMessageStatus.Declined;

    public static Func<ProbeTarget<T>, Offer<T>, DataflowMessageStatus> DeclineForever { get; } = static (_, _) => DataflowMessageStatus.DecliningPermanently;

    /// <summary>Takes the message by calling back the source from within the offer, which is right only if the source asks for it.</summary>
    public static Func<ProbeTarget<T>, Offer<T>, DataflowMessageStatus> ConsumeInside { get; } = static (self, offer) =>
        self.Consume(offer, out _) ? DataflowMessageStatus.Accepted : DataflowMessageStatus.NotAvailable;

    public Task Completion => _completion.Task;

    /// <summary>What the target answers from now on.</summary>
    public Func<ProbeTarget<T>, Offer<T>, DataflowMessageStatus> Answer
    {
        get => _answer;
        set => _answer = value;
    }

    public Offer<T>[] Offers => [.. _offers];

    public Offer<T> Last => _offers.Last();

    public long[] Ids => [.. _offers.Select(static o => o.Id)];

    public T[] Offered => [.. _offers.Select(static o => o.Value)];

    /// <summary>The values that were answered with Accepted.</summary>
    public T[] Accepted => [.. _offers.Zip(_answers).Where(static p => p.Second == DataflowMessageStatus.Accepted).Select(static p => p.First.Value)];

    public int Completes => Volatile.Read(ref _completes);

    public Exception? Fault => Volatile.Read(ref _fault);

    public DataflowMessageStatus OfferMessage(DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept)
    {
        var offer = new Offer<T>(messageHeader, messageValue, source, consumeToAccept);
        _offers.Enqueue(offer);
        DataflowMessageStatus status = _answer(this, offer);
        _answers.Enqueue(status);
        return status;
    }

    public bool Consume(Offer<T> offer, out T? value)
    {
        value = offer.Source!.ConsumeMessage(offer.Header, this, out bool consumed);
        return consumed;
    }

    public bool Reserve(Offer<T> offer) => offer.Source!.ReserveMessage(offer.Header, this);

    public void Release(Offer<T> offer) => offer.Source!.ReleaseReservation(offer.Header, this);

    public void Complete()
    {
        Interlocked.Increment(ref _completes);
        _completion.TrySetResult();
    }

    void IDataflowBlock.Fault(Exception exception)
    {
        Volatile.Write(ref _fault, exception);
        _completion.TrySetException(exception);
    }
}
