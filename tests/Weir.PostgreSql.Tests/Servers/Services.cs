using System.Diagnostics;
using System.Text.RegularExpressions;

namespace Weir.PostgreSql.Tests.Servers;

/// <summary>The script that starts real servers.</summary>
internal static partial class Services
{
    /// <summary>Runs it.</summary>
    /// <param name="folder">The folder of servers of their own; null for those that all tests share.</param>
    public static async Task<(int Code, string Output, string Error)> RunAsync(string? folder, params string[] arguments)
    {
        var start = new ProcessStartInfo(Path.Combine(Repository.Root, "eng", "services"), arguments)
        {
            RedirectStandardOutput = true, RedirectStandardError = true, UseShellExecute = false,
        };
        if (folder is not null)
        {
            start.Environment["WEIR_SERVICES"] = folder;
        }

        using Process process = Process.Start(start)!;

        // A server that was started keeps what it inherited open, so the end of the output is not waited for.
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        await process.WaitForExitAsync();
        await Task.WhenAll(output, error).EndsAsync("The output of eng/services");
        return (process.ExitCode, await output, await error);
    }

    /// <summary>The connection string of PostgreSQL in what the script prints, or in the file that it writes.</summary>
    public static string? Postgres(string text) => Line().Match(text) is { Success: true } match ? match.Groups[1].Value : null;

    [GeneratedRegex("^WEIR_POSTGRES='([^']*)'$", RegexOptions.Multiline)]
    private static partial Regex Line();
}
