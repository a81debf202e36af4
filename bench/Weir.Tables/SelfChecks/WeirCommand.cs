using Weir.Cli.App;

namespace Weir.Tables.SelfChecks;

/// <summary>The <c>weir</c> command in a process of its own.</summary>
/// <param name="installed">The command as it is installed; <see langword="null"/> for the one that was built with this program.</param>
internal sealed class WeirCommand(FileInfo? installed)
{
    /// <summary>The assembly with methods as users have them.</summary>
    public static string UserAssembly { get; } = typeof(PairedMethods).Assembly.Location;

    /// <summary>How to start it.</summary>
    /// <param name="arguments">The verb and what it is given.</param>
    public ProcessStartInfo StartInfo(IEnumerable<string> arguments) =>
        installed is null ? OwnProgram.StartInfo(typeof(WeirApp).Assembly, arguments) : new(installed.FullName, arguments);

    /// <summary>Runs it.</summary>
    /// <param name="arguments">The verb and what it is given.</param>
    /// <param name="folder">Where its result file is written.</param>
    /// <param name="cancellationToken">Kills it.</param>
    /// <returns>The result.</returns>
    /// <exception cref="InvalidOperationException">It came to no result.</exception>
    public async Task<ResultFile> RunAsync(IReadOnlyList<string> arguments, DirectoryInfo folder, CancellationToken cancellationToken)
    {
        ChildEnd end = await ChildProgram.RunAsync(
            StartInfo([.. arguments, "--quiet", "--export", "json", "--out", folder.FullName]), cancellationToken);
        return Read(folder, arguments) ?? throw new InvalidOperationException($"'{Text(arguments)}' ended with code {end.Code} and no result: {end.Errors}");
    }

    /// <summary>Reads the result in a folder.</summary>
    /// <param name="folder">The folder that the command was told to write to.</param>
    /// <param name="arguments">The arguments that the result must be of.</param>
    /// <returns>The result; <see langword="null"/> when there is none, or that of another command.</returns>
    /// <exception cref="ResultFileException">The file is not a result.</exception>
    public static ResultFile? Read(DirectoryInfo folder, IReadOnlyList<string> arguments)
    {
        string path = Path.Combine(folder.FullName, $"weir-{arguments[0]}.json");
        return File.Exists(path) && ResultJson.Read(path) is var result && result.Arguments.Take(arguments.Count).SequenceEqual(arguments) ? result : null;
    }

    /// <summary>The command as it is shown: without the folders of assemblies.</summary>
    public static string Text(IEnumerable<string> arguments) =>
        "weir " + string.Join(' ', arguments.Select(static a => Path.IsPathRooted(a) ? Path.GetFileName(a) : a));

    /// <summary>The options that name a method of <see cref="PairedMethods"/>, and the same in another build, which is none.</summary>
    public static IReadOnlyList<string> Twice(string method) =>
        ["--assembly", UserAssembly, "--against", UserAssembly, "--method", $"{nameof(PairedMethods)}.{method}"];

    /// <summary>The options that name two of its methods.</summary>
    public static IReadOnlyList<string> Both(string method, string other) =>
        ["--assembly", UserAssembly, "--method", $"{nameof(PairedMethods)}.{method},{nameof(PairedMethods)}.{other}"];
}
