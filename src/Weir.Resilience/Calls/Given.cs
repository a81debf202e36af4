namespace Weir.Resilience;

/// <summary>How to find the user's state in a state of ours around it. A field and not an interface, because no state is boxed for it.</summary>
internal static class Given<TState>
{
    /// <summary>The user's state if it is an object; null where the state is the user's own.</summary>
    public static Func<TState, object?>? Of { get; set; }
}
