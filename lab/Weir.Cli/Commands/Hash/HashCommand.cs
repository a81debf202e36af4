namespace Weir.Cli.Commands.Hash;

/// <summary>The <c>hash</c> command: hashes files with many workers, and compares ways to wait for their bytes.</summary>
internal static class HashCommand
{
    public const string Name = "hash";

    public static Command Create(WeirHost host)
    {
        HashOptionSet options = new();
        OutputOptionSet outputs = new();
        Command command = new(
            Name,
            "Hashes files with N workers, in several ways. Reports files per second, how many reads were really in flight, and proof of where "
                + "the bytes came from.");
        options.AddTo(command);
        outputs.AddTo(command);
        command.SetAction(
            (parsed, _) => new HashRun(options.Read(parsed), outputs.Read(parsed), [.. parsed.Tokens.Select(static t => t.Value)], host).RunAsync());
        return command;
    }
}
