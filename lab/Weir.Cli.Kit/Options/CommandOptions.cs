namespace Weir.Cli.Kit.Options;

/// <summary>Adds options to a command.</summary>
internal static class CommandOptions
{
    /// <summary>Adds all of them, in the order of its help.</summary>
    public static void AddAll(this Command command, params IEnumerable<Option> options)
    {
        foreach (Option option in options)
        {
            command.Add(option);
        }
    }
}
