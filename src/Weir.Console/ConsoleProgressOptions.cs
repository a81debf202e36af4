using Spectre.Console;
using Weir.Observability;
using Weir.Terminal;

namespace Weir;

/// <summary>How <see cref="ConsoleProgress"/> shows runs. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record ConsoleProgressOptions
{
    private static readonly TimeSpan Longest = TimeSpan.FromDays(1);

    /// <summary>Where it is shown.</summary>
    /// <value>
    /// The default is <see langword="null"/>, for the error output. Set the console that your program draws on itself, if it uses Spectre.Console for more than
    /// this; then write with it, or between runs.
    /// </value>
    public IAnsiConsole? Console { get; init; }

    /// <summary>How often bars are drawn, on a terminal.</summary>
    /// <value>From 20 milliseconds to 1 day. The default is 100 milliseconds.</value>
    public TimeSpan Interval { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>How often a line is written, where there is no terminal.</summary>
    /// <value>From 20 milliseconds to 1 day. The default is 10 seconds. There is one more line at the end.</value>
    public TimeSpan LineInterval { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// Whether what the program writes to <see cref="System.Console.Out"/> and <see cref="System.Console.Error"/> appears above the bars. While there are bars
    /// on the terminal, these two are replaced by writers that take the bars away and draw them again.
    /// </summary>
    /// <value>
    /// The default is <see langword="true"/>. It has no effect if <see cref="Console"/> is set, nor if the program has already put a writer of its own in the
    /// place of one of the two: that one must get its texts.
    /// </value>
    public bool KeepsLinesAbove { get; init; } = true;

    /// <summary>The clock of the intervals.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Check(Interval, nameof(Interval));
        Check(LineInterval, nameof(LineInterval));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }

    private static void Check(TimeSpan value, string name)
    {
        if (value < TimeSpan.FromMilliseconds(20) || value > Longest)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} must be from 20 milliseconds to 1 day.");
        }
    }
}
