using System.ComponentModel;
using Weir.Resilience;

namespace Weir;

/// <content>Rivulet's names for what is in a group. Each reads and changes the group, and is not shown where the options are written.</content>
public sealed partial record ParallelRunOptions
{
    // What the names of retries start from: whoever sets only a delay has not asked for retries.
    private static readonly RetryOptions NoRetries = new() { MaxRetries = 0 };

    /// <summary>How often a failed item is retried: <see cref="RetryOptions.MaxRetries"/> of <see cref="Retry"/>.</summary>
    /// <value>0 or more. The default is 0. A <see cref="Retry"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public int MaxRetries
    {
        get => Retry?.MaxRetries ?? 0;
        init => Retry = (Retry ?? NoRetries) with { MaxRetries = value };
    }

    /// <summary>Which failures are retried: <see cref="RetryOptions.IsTransient"/> of <see cref="Retry"/>.</summary>
    /// <value>The default is <see langword="null"/>. A <see cref="Retry"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<Exception, bool>? IsTransient
    {
        get => Retry?.IsTransient;
        init => Retry = (Retry ?? NoRetries) with { IsTransient = value };
    }

    /// <summary>The delay that the <see cref="BackoffStrategy"/> starts from: <see cref="RetryOptions.BaseDelay"/> of <see cref="Retry"/>.</summary>
    /// <value>Zero or more. The default is 100 ms. A <see cref="Retry"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public TimeSpan BaseDelay
    {
        get => (Retry ?? NoRetries).BaseDelay;
        init => Retry = (Retry ?? NoRetries) with { BaseDelay = value };
    }

    /// <summary>How the delay grows from attempt to attempt: <see cref="RetryOptions.BackoffStrategy"/> of <see cref="Retry"/>.</summary>
    /// <value>The default is <see cref="BackoffStrategy.ExponentialJitter"/>. A <see cref="Retry"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public BackoffStrategy BackoffStrategy
    {
        get => (Retry ?? NoRetries).BackoffStrategy;
        init => Retry = (Retry ?? NoRetries) with { BackoffStrategy = value };
    }

    /// <summary>Called before an item's call: <see cref="RunHooks.OnStartItemAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, ValueTask>? OnStartItemAsync
    {
        get => Hooks?.OnStartItemAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnStartItemAsync = value };
    }

    /// <summary>Called after an item's call: <see cref="RunHooks.OnCompleteItemAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, ValueTask>? OnCompleteItemAsync
    {
        get => Hooks?.OnCompleteItemAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnCompleteItemAsync = value };
    }

    /// <summary>Called for each failed item: <see cref="RunHooks.OnErrorAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, Exception, ValueTask<bool>>? OnErrorAsync
    {
        get => Hooks?.OnErrorAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnErrorAsync = value };
    }

    /// <summary>Called before an item waits for another attempt: <see cref="RunHooks.OnRetryAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, int, Exception, ValueTask>? OnRetryAsync
    {
        get => Hooks?.OnRetryAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnRetryAsync = value };
    }

    /// <summary>Called when a stream pauses: <see cref="RunHooks.OnThrottleAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, ValueTask>? OnThrottleAsync
    {
        get => Hooks?.OnThrottleAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnThrottleAsync = value };
    }

    /// <summary>Called when a paused stream resumes: <see cref="RunHooks.OnDrainAsync"/> of <see cref="Hooks"/>.</summary>
    /// <value>The default is <see langword="null"/>. <see cref="Hooks"/> that are set later replace it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public Func<int, ValueTask>? OnDrainAsync
    {
        get => Hooks?.OnDrainAsync;
        init => Hooks = (Hooks ?? RunHooks.None) with { OnDrainAsync = value };
    }

    /// <summary>How far a stream reads ahead: <see cref="OutputOptions.ChannelCapacity"/> of <see cref="Output"/>.</summary>
    /// <value>At least 1. The default is 1024. An <see cref="Output"/> that is set later replaces it.</value>
    [EditorBrowsable(EditorBrowsableState.Never)]
    public int ChannelCapacity
    {
        get => Output.ChannelCapacity;
        init => Output = Output with { ChannelCapacity = value };
    }
}
