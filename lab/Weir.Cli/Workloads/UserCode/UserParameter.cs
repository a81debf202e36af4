namespace Weir.Cli.Workloads.UserCode;

/// <summary>Texts as values of a type.</summary>
internal static class UserParameter
{
    private static readonly Dictionary<Type, string> Keywords = new()
    {
        [typeof(bool)] = "bool", [typeof(byte)] = "byte", [typeof(sbyte)] = "sbyte", [typeof(char)] = "char", [typeof(decimal)] = "decimal",
        [typeof(double)] = "double", [typeof(float)] = "float",
        [typeof(int)] = "int", [typeof(uint)] = "uint", [typeof(long)] = "long", [typeof(ulong)] = "ulong", [typeof(short)] = "short",
        [typeof(ushort)] = "ushort", [typeof(string)] = "string", [typeof(object)] = "object",
    };

    /// <summary>The name of a type as one writes it.</summary>
    public static string NameOf(Type type) =>
        Nullable.GetUnderlyingType(type) is { } inner ? NameOf(inner) + "?"
        : type.IsArray ? NameOf(type.GetElementType()!) + "[]"
        : Keywords.TryGetValue(type, out string? keyword) ? keyword : type.Name.Split('`')[0];

    /// <summary>Whether a text can be a value of a type.</summary>
    public static bool CanRead(Type type)
    {
        Type own = Nullable.GetUnderlyingType(type) ?? type;
        return own == typeof(string) || own.IsEnum || ParserOf(own) is not null;
    }

    /// <summary>A text as a value of a type.</summary>
    public static object Read(Type type, OptionValue given)
    {
        Type own = Nullable.GetUnderlyingType(type) ?? type;
        if (own == typeof(string))
        {
            return given.Text;
        }

        if (own.IsEnum)
        {
            return Enum.TryParse(own, given.Text, ignoreCase: true, out object? value)
                ? value
                : throw given.Bad($"one of {string.Join(", ", Enum.GetNames(own))}");
        }

        // As in all options: 10us, and the platform's 00:00:01 as well.
        if (own == typeof(TimeSpan) && given.Text.Length > 0 && char.IsAsciiLetter(given.Text[^1]))
        {
            return given.Time(TimeSpan.Zero, TimeSpan.FromDays(1), "10us");
        }

        try
        {
            return ParserOf(own)!.Invoke(null, [given.Text])!;
        }
        catch (TargetInvocationException e) when (e.InnerException is FormatException or OverflowException or ArgumentException)
        {
            throw given.Bad($"a value of the type {NameOf(own)}");
        }
    }

    private static MethodInfo? ParserOf(Type type) =>
        type.GetInterfaces().Any(i => i.IsGenericType && i.GetGenericTypeDefinition() == typeof(IParsable<>) && i.GetGenericArguments()[0] == type)
        ? typeof(UserParameter).GetMethod(nameof(Parse), BindingFlags.NonPublic | BindingFlags.Static)!.MakeGenericMethod(type)
        : null;

    private static T Parse<T>(string text)
        where T : IParsable<T> => T.Parse(text, CultureInfo.InvariantCulture);
}
