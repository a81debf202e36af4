using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;

namespace Weir.TestKit;

/// <summary>The script that starts real servers.</summary>
public static class ServersScript
{
    /// <summary>Runs it.</summary>
    /// <param name="folder">The folder of servers of their own; null for those that all tests share.</param>
    public static Task<(int Code, string Output, string Error)> RunAsync(string? folder, params string[] arguments) => RunAsync(folder, new Dictionary<string, string>(), arguments);

    /// <summary>Runs it in a changed environment.</summary>
    public static async Task<(int Code, string Output, string Error)> RunAsync(
        string? folder, Dictionary<string, string> environment, params string[] arguments)
    {
        var start = new ProcessStartInfo(Path.Combine(Repository.Root, "eng", "services"), arguments)
        {
            RedirectStandardOutput = true, RedirectStandardError = true, UseShellExecute = false,
        };
        if (folder is not null)
        {
            start.Environment["WEIR_SERVICES"] = folder;
        }

        foreach ((string name, string value) in environment)
        {
            start.Environment[name] = value;
        }

        using Process process = Process.Start(start)!;

        // A server that was started keeps what it inherited open, so the end of the output is not waited for.
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        await process.WaitForExitAsync().ConfigureAwait(false);
        await Task.WhenAll(output, error).EndsAsync("The output of eng/services").ConfigureAwait(false);
        return (process.ExitCode, await output.ConfigureAwait(false), await error.ConfigureAwait(false));
    }

    /// <summary>Starts servers that stop with this process, however it ends.</summary>
    public static Task<(int Code, string Output, string Error)> UpAsync(string? folder, params string[] servers) =>
        RunAsync(folder, ["up", "--while", Environment.ProcessId.ToString(CultureInfo.InvariantCulture), .. servers]);

    /// <summary>A connection string in what the script prints; null if it is not there.</summary>
    public static string? Connection(string text, string variable) =>
        Regex.Match(text, $"^{variable}='([^']*)'$", RegexOptions.Multiline) is { Success: true } match ? match.Groups[1].Value : null;
}
