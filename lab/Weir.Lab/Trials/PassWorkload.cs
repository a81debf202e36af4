namespace Weir.Lab.Trials;

/// <summary>Passes of an arm as operations, with what they came to added up.</summary>
internal sealed class PassWorkload(TrialArm arm) : IWorkload
{
    private long _passes;
    private long _items;
    private long _failed;
    private long _timedOut;

    public string Name => arm.Name;

    public async ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        (_passes, _items, _failed, _timedOut) = (0, 0, 0, 0);
        if (arm.Begin is { } begin)
        {
            await begin(cancellationToken).ConfigureAwait(false);
        }

        // What the warm-up counted counts nowhere.
        arm.TakeDelivery?.Invoke();
    }

    public Operation CreateOperation(WorkerContext context) => new AsyncOperation<PassCall, PassResult>(new PassCall(arm, this, context.Stopping));

    /// <summary>The window that has just ended.</summary>
    /// <param name="place">Its place among all windows of the run, from 1.</param>
    /// <param name="outcome">What was read of it.</param>
    /// <param name="itemsDone">How many items the arm itself says it did, which tells more than whole passes when it was stopped within one.</param>
    public RoundRecord RoundOf(int place, WindowOutcome outcome, long itemsDone)
    {
        DeliveryTally? delivery = arm.TakeDelivery?.Invoke();
        long items = (outcome.IsPartial ? Math.Max(_items, itemsDone) : _items) - (delivery?.Lost ?? 0);
        double seconds = outcome.Solo?.Elapsed.TotalSeconds ?? 0;
        RoundRecord round = new RoundRecord
        {
            Order = place,
            Partial = outcome.IsPartial,
            Passes = _passes,
            Operations = items,
            Seconds = seconds,
            Rate = items / Math.Max(seconds, 1e-9),
            Failures = _failed + _timedOut,
            TimedOut = _timedOut,

            // Every completed pass had this one; otherwise, there is no result.
            Checksum = _passes > 0 ? $"{arm.Expected.Checksum:x16}" : null,
        }.With(outcome.Resources);
        return delivery is null ? round : delivery.Of(round);
    }

    private void Add(in PassResult result)
    {
        WrongResultException.ThrowIfWrong(arm, result);
        _passes++;
        _items += result.Count;
        _failed += result.Failed;
        _timedOut += result.TimedOut;
    }

    // The worker's own loop awaits the pass and gives its result here: a method between them would allocate for each pass.
    private readonly struct PassCall(TrialArm arm, PassWorkload passes, CancellationToken stopping) : IAsyncCall<PassResult>
    {
        public ValueTask<PassResult> StartAsync() => arm.Pass(stopping);

        public void Take(PassResult result) => passes.Add(result);

        public Operation Empty() => Operation.OfAsync(static () => default(ValueTask<PassResult>));
    }
}
