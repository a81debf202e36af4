using System.Text.RegularExpressions;

namespace Weir.Cli.Kit.Hosting;

/// <summary>Takes passwords out of texts before they are printed: a user may have put an address in the wrong place.</summary>
internal static partial class Credentials
{
    private const string Hidden = "***";

    public static string Hide(string text) => Keyword().Replace(UserInfo().Replace(text, $"://{Hidden}@"), $"$1{Hidden}");

    /// <summary>What an exception says, on one line. That Npgsql leaves something out is said of each of its errors, and to nobody's use.</summary>
    public static string LineOf(Exception error)
    {
        int redacted = error.Message.IndexOf("DETAIL: Detail redacted", StringComparison.Ordinal);
        return Hide((redacted < 0 ? error.Message : error.Message[..redacted]).Trim().ReplaceLineEndings(" "));
    }

    // Greedy: a password may have an at sign in it. A name without one is no secret.
    [GeneratedRegex(@"://[^\s:@/]*:\S*@")]
    private static partial Regex UserInfo();

    [GeneratedRegex("""((?:\b|_)(?:password|passwd|pwd|passphrase)\s*=\s*)(?:'[^']*'|"[^"]*"|[^;'"]*)""", RegexOptions.IgnoreCase)]
    private static partial Regex Keyword();
}
