namespace Weir.Lab.Processes;

/// <summary>How a program ended.</summary>
/// <param name="Code">Its exit code.</param>
/// <param name="Output">What it printed.</param>
/// <param name="Errors">What it printed on the error output, when that was kept.</param>
internal sealed record ChildEnd(int Code, string Output, string Errors)
{
    /// <summary>All that it printed.</summary>
    public string Text => Output + Errors;
}
