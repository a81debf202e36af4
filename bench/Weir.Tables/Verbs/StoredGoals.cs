using System.Text.RegularExpressions;
using Weir.Tables.Page;
using Weir.Tables.SelfChecks;

namespace Weir.Tables.Verbs;

/// <summary>
/// Judges the goals of a page anew by the figures that stand on it. So a rule about goals holds for all tables as soon as it is changed, and not only for those
/// that are measured again.
/// </summary>
internal static partial class StoredGoals
{
    private const string NotQuiet = "**The machine was not quiet";

    private static readonly Dictionary<string, double> Units = new() { ["x"] = 1, ["ns"] = 1, ["us"] = 1e3, ["ms"] = 1e6, ["s"] = 1e9 };

    /// <summary>The page with each verdict as its figures have it.</summary>
    public static string Judge(string page)
    {
        page = Sentence().Replace(page, OfASentence);
        page = Share().Replace(page, OfAShare);
        page = AutoRow().Replace(page, OfAnAutoRow);
        return Check().Replace(page, OfACheck);
    }

    // A miss stays one: when it was measured, the interval was narrower than the range of the rounds that some pages have in its place.
    private static string OfASentence(Match sentence)
    {
        string unit = sentence.Groups["value"].Value.TrimStart('-').TrimStart("0123456789.,".ToCharArray()).Trim();
        double Value(string group) => Number(sentence.Groups[group].Value, unit);
        string old = sentence.Groups["verdict"].Value;
        return sentence.Groups["all"].Value
            + (old.StartsWith("**missed", StringComparison.Ordinal) && Value("value") > Value("limit")
                ? old
                : GoalVerdict.AtMost(Value("value"), Value("low"), Value("high"), Value("limit")));
    }

    private static string OfAShare(Match share)
    {
        double Value(string group) => Number(share.Groups[group].Value, "x");
        (double value, double low, double high, double limit) = (Value("value"), Value("low"), Value("high"), Value("limit"));
        return share.Groups["all"].Value
            + (share.Groups["way"].Value == "most" ? GoalVerdict.AtMost(value, low, high, limit) : GoalVerdict.AtLeast(value, low, high, limit));
    }

    private static string OfAnAutoRow(Match row)
    {
        double Value(string group) => Number(row.Groups[group].Value, "x");
        return $"{row.Groups["all"].Value}{GoalVerdict.AtLeast(Value("value"), Value("low"), Value("high"), Value("limit"))} |";
    }

    private static string OfACheck(Match check)
    {
        int[][] rows = [.. Row().Matches(check.Groups["rest"].Value).Select(static row => Counts(row.Groups["cells"].Value))];
        string[] lasts = [.. Row().Matches(check.Groups["rest"].Value).Select(static row => row.Groups["cells"].Value.Split('|')[^1].Trim())];
        if (rows.Length < 2)
        {
            return check.Value;
        }

        (string goal, bool isMet) = check.Groups["name"].Value switch
        {
            "gate" => GateCheck.GoalOf(rows[0][..3].Sum(), rows[0][0], rows[1][..3].Sum(), rows[1][0], rows[1][1]),
            "stored" => StoredCheck.GoalOf(
                rows[0][0], int.Parse(Results().Match(check.Value).Groups["results"].Value, CultureInfo.InvariantCulture),
                rows[0][1] + rows[0][2] + rows[1][1] + rows[1][2], rows[0][3]),
            "verdicts" => OfVerdicts(VerdictGoal.Lab),
            "methods" => OfVerdicts(VerdictGoal.Users),
            _ => OfVerdicts(VerdictGoal.Neighboured),
        };
        bool isFit = !check.Groups["rest"].Value.Contains(NotQuiet, StringComparison.Ordinal);
        return $"{check.Groups["all"].Value}{CheckSection.Judged(goal, isMet, isFit)}\n{check.Groups["rest"].Value}";

        // Two rows each: the same work, and longer work. Of each, FASTER, SLOWER, EQUIVALENT and INCONCLUSIVE.
        (string Text, bool IsMet) OfVerdicts(VerdictGoal of)
        {
            int[][] same = [.. rows.Where(static (_, i) => i % 2 == 0)];
            int[][] slower = [.. rows.Where(static (_, i) => i % 2 == 1)];
            return VerdictCheck.GoalOf(
                of, same.Sum(static r => r[..4].Sum()), same.Sum(static r => r[2]), slower.Sum(static r => r[..4].Sum()), slower.Sum(static r => r[1]),
                same.Sum(static r => r[0] + r[1]) + slower.Sum(static r => r[0]),
                lasts.Max(static last => double.Parse(last, CultureInfo.InvariantCulture)));
        }
    }

    private static int[] Counts(string cells) =>
        [.. cells.Split('|').Select(static cell => cell.Trim()).TakeWhile(static cell => int.TryParse(cell, out _)).Select(static cell => int.Parse(cell, CultureInfo.InvariantCulture))];

    private static double Number(string text, string usual)
    {
        Match number = NumberAndUnit().Match(text);
        string unit = number.Groups["unit"].Length > 0 ? number.Groups["unit"].Value : usual;
        return double.Parse(number.Groups["number"].Value, NumberStyles.Number, CultureInfo.InvariantCulture) * Units[unit];
    }

    [GeneratedRegex(@"^(?<all>- .*? takes at most (?<limit>[\d.,]+ ?(?:x|[num]?s))(?: |\b)[^:]*: (?<value>-?[\d.,]+ ?(?:x|[num]?s)) \[(?<low>-?[\d.,]+ ?(?:x|[num]?s)?)\.\.(?<high>-?[\d.,]+ ?(?:x|[num]?s)?)\], )(?<verdict>.+)$", RegexOptions.Multiline)]
    private static partial Regex Sentence();

    [GeneratedRegex(@"^(?<all>- .*: at (?<way>most|least) (?<limit>[\d.,]*\d)(?: ns)? [^:]*: (?<value>-?[\d.,]+)(?: ns)? \[(?<low>-?[\d.,]*\d)(?: ns)?\.\.(?<high>-?[\d.,]*\d)(?: ns)?\], ).+$", RegexOptions.Multiline)]
    private static partial Regex Share();

    [GeneratedRegex(@"^(?<all>\| .* \| (?<value>[\d.]+) \| (?<low>[\d.]+)\.\.(?<high>[\d.]+) \| [\d.]+ \| [\d.]+ \| (?<limit>\d\.\d+): )[^|]+ \|$", RegexOptions.Multiline)]
    private static partial Regex AutoRow();

    [GeneratedRegex(@"(?<all><!-- measured (?<name>gate|stored|verdicts|methods|neighbours) -->\n)Goal: [^\n]*\n(?<rest>.*?<!-- /measured -->)", RegexOptions.Singleline)]
    private static partial Regex Check();

    [GeneratedRegex(@"^\| [^|]+ \| (?<cells>\d+ \| \d+ \| \d+ \|.*) \|$", RegexOptions.Multiline)]
    private static partial Regex Row();

    [GeneratedRegex(@"pairs of (?<results>\d+) stored results")]
    private static partial Regex Results();

    [GeneratedRegex(@"^(?<number>-?[\d.,]*\d) ?(?<unit>x|[num]?s)?$")]
    private static partial Regex NumberAndUnit();
}
