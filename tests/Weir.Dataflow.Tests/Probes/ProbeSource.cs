namespace Weir.Dataflow.Tests.Probes;

/// <summary>A source written by hand: it offers what the test says and records each call back, in order.</summary>
public sealed class ProbeSource<T> : ISourceBlock<T>
{
    private readonly TaskCompletionSource _completion = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ConcurrentDictionary<long, T> _pending = new();
    private readonly ConcurrentQueue<string> _calls = new();

    public Task Completion => _completion.Task;

    /// <summary>Whether ReserveMessage grants what is asked.</summary>
    public bool GrantsReservation { get; set; } = true;

    /// <summary>Whether ConsumeMessage hands the message out.</summary>
    public bool GrantsConsumption { get; set; } = true;

    /// <summary>Thrown by ConsumeMessage if set.</summary>
    public Exception? ConsumeThrows { get; set; }

    /// <summary>Thrown by ReserveMessage if set.</summary>
    public Exception? ReserveThrows { get; set; }

    /// <summary>Called first in ConsumeMessage, on whatever thread the target chose.</summary>
    public Action? OnConsume { get; set; }

    /// <summary>Called first in ReserveMessage, on whatever thread the target chose.</summary>
    public Action? OnReserve { get; set; }

    /// <summary>Called first in ReleaseReservation, on whatever thread the target chose.</summary>
    public Action? OnRelease { get; set; }

    /// <summary>"consume 1", "reserve 2", "release 2"... in the order of the calls.</summary>
    public string[] Calls => [.. _calls];

    public DataflowMessageStatus OfferTo(ITargetBlock<T> target, long id, T value, bool consumeToAccept = false)
    {
        _pending[id] = value;
        DataflowMessageStatus status = target.OfferMessage(new DataflowMessageHeader(id), value, this, consumeToAccept);
        if (status == DataflowMessageStatus.Accepted)
        {
            _pending.TryRemove(id, out _);
        }

        return status;
    }

    public T? ConsumeMessage(DataflowMessageHeader messageHeader, ITargetBlock<T> target, out bool messageConsumed)
    {
        _calls.Enqueue($"consume {messageHeader.Id}");
        OnConsume?.Invoke();
        if (ConsumeThrows is not null)
        {
            throw ConsumeThrows;
        }

        T? value = default;
        messageConsumed = GrantsConsumption && _pending.TryRemove(messageHeader.Id, out value);
        return value;
    }

    public bool ReserveMessage(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        _calls.Enqueue($"reserve {messageHeader.Id}");
        OnReserve?.Invoke();
        return ReserveThrows is null ? GrantsReservation && _pending.ContainsKey(messageHeader.Id) : throw ReserveThrows;
    }

    public void ReleaseReservation(DataflowMessageHeader messageHeader, ITargetBlock<T> target)
    {
        _calls.Enqueue($"release {messageHeader.Id}");
        OnRelease?.Invoke();
    }

    public IDisposable LinkTo(ITargetBlock<T> target, DataflowLinkOptions linkOptions) => throw new NotSupportedException();

    public void Complete() => _completion.TrySetResult();

    public void Fault(Exception exception) => _completion.TrySetException(exception);
}
