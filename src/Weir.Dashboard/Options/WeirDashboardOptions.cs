using System.Diagnostics.CodeAnalysis;

namespace Weir.Dashboard;

/// <summary>Who may see the page, who may act on it, and what it shows of items. Set it in the call of <c>MapWeir</c>; not thread-safe.</summary>
public sealed class WeirDashboardOptions
{
    /// <summary>The name in the page's title.</summary>
    /// <value><see langword="null"/>, the default, for the name of the application.</value>
    public string? Title { get; set; }

    /// <summary>The authorisation policy of who may see the page.</summary>
    /// <value>
    /// The name of a policy; <see langword="null"/>, the default, for none. Then the page answers to the machine itself alone (loopback, under a local host
    /// name, and not through a proxy), unless the endpoint is given a policy with <c>RequireAuthorization</c>.
    /// </value>
    public string? Policy { get; set; }

    /// <summary>Whether the page has buttons: to pause, limit and stop runs, to open and close breakers, to replay and drop dead letters.</summary>
    /// <value>The default is <see langword="false"/>. It needs <see cref="ActionPolicy"/> or <see cref="Policy"/>, and the anti-forgery service of ASP.NET Core.</value>
    public bool AllowActions { get; set; }

    /// <summary>The authorisation policy of who may act. Others see the page without buttons.</summary>
    /// <value>The name of a policy; <see langword="null"/>, the default, for <see cref="Policy"/>.</value>
    public string? ActionPolicy { get; set; }

    /// <summary>What the page shows of the contents of a dead letter or a queued item. It never shows any by itself.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for nothing. It gets the name of the queue and the bytes; it may return any text, of which the page shows the
    /// first 10,000 characters, as text. What it throws is shown in its place.
    /// </value>
    public Func<string, ReadOnlyMemory<byte>, string?>? DescribeItem { get; set; }

    /// <summary>The most dead letters or items of one queue that a search reads.</summary>
    /// <value>At least 1. The default is 10,000. The page says so when there are more.</value>
    public int MaxSearched { get; set; } = 10_000;

    /// <summary>The clock of the page.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; set; } = TimeProvider.System;

    internal string? WhoMayAct => ActionPolicy ?? Policy;

    internal void Validate()
    {
        NotEmpty(Policy, nameof(Policy));
        NotEmpty(ActionPolicy, nameof(ActionPolicy));
        if (MaxSearched < 1)
        {
            throw new ArgumentOutOfRangeException(nameof(MaxSearched), MaxSearched, $"{nameof(MaxSearched)} must be at least 1.");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        if (AllowActions && WhoMayAct is null)
        {
            throw new ArgumentException($"{nameof(AllowActions)} needs {nameof(ActionPolicy)} or {nameof(Policy)}: the name of the policy of who may act.");
        }
    }

    [SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "The property is what the caller set.")]
    private static void NotEmpty(string? policy, string name)
    {
        if (policy is { Length: 0 })
        {
            throw new ArgumentException($"{name} must not be empty; null is for none.", name);
        }
    }
}
