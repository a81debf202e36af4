using Npgsql;

namespace Weir.PostgreSql;

/// <summary>Parameters of statements, by their place.</summary>
internal static class Parameter
{
    public static NpgsqlParameter Of<T>(T value) => new NpgsqlParameter<T> { TypedValue = value };
}
