namespace Weir.Resilience;

/// <summary>A call of another shape and its state, which go through a chain as one state.</summary>
internal readonly struct CallState<TCall, TState>(TCall call, TState state)
{
    static CallState() => Given<CallState<TCall, TState>>.Of = static s => CallShape.GivenOf(s.State);

    public TCall Call { get; } = call;

    public TState State { get; } = state;
}
