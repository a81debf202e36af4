namespace Weir.Cli.Hosting;

/// <summary>The dependencies of the <c>work</c> commands besides their options.</summary>
internal sealed record WorkCommandHost
{
    /// <summary>Where items come from if no file is named.</summary>
    public TextReader In { get; init; } = TextReader.Null;

    /// <summary>
    /// Opens the output for lines of which none may be lost; <see langword="null"/> for the output of the host. The console's own swallows what is written to
    /// somebody who has gone.
    /// </summary>
    public Func<TextWriter>? Lines { get; init; }

    /// <summary>How often progress is shown.</summary>
    public TimeSpan Progress { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>The clock.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;
}
