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

    /// <summary>Leaves some of them out of the command's first help, because there they are rarely needed.</summary>
    public static void MakeRare(this Command command, params ReadOnlySpan<string> names)
    {
        foreach (string name in names)
        {
            command.Options.First(o => o.Name == name).Hidden = true;
        }
    }
}
