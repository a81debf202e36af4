namespace Weir.Cli.Kit.Hosting;

/// <summary>The output of the program takes no more: its reader has closed it, or its disk is full.</summary>
internal sealed class OutputException(string reason) : IOException($"The output takes no more: {reason}.")
{
    /// <summary>What the system says.</summary>
    public string Reason => reason;
}
